"""HTML as markdown."""

from __future__ import annotations

import pytest

from anyact_server.grounding.markup import to_markdown


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h1>Hello <b>World</b></h1><p>text</p>", "# Hello **World**\n\ntext"),
        ("<p>a<br>b</p>", "a\nb"),
        ("<a href='/x'>a  link</a>", "[a link](/x)"),
        ("see<a href='/x'>it</a>", "see [it](/x)"),
        ("<a href='#top'>up</a><a href='javascript:x()'>run</a>", "up run"),
        ("</a>lost", "lost"),
        ("<img src=x alt='A cat'><img src=y>", "![A cat]"),
        ("<ul><li>a<li>b<ol start=3><li>c<li>d</ol></ul>", "- a\n- b\n  3. c\n  4. d"),
        ("<li>alone", "- alone"),
        ("<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td></tr></table>", "| A | B |\n|---|---|\n| 1\\|2 |  |"),
        ("<table><tr><td>only</td></tr><tr><td>layout</td></tr></table>", "only\nlayout"),
        (
            "<table><tr><td>a<td><table><tr><td>x</td><td>y</td></tr></table></table>",
            "| a | x y |\n|---|---|",
        ),
        ("<td>stray</td>", "stray"),
        ("<table><td>a</td><td>b<br>c</td>", "| a | b c |\n|---|---|"),
        ("<table></table>after", "after"),
        ("<pre>  a\n   b</pre>", "```\n  a\n   b\n```"),
        ("<code>x</code> <em>y</em> <b></b>z", "`x` *y* z"),
        ("<b>bold </b>after", "**bold** after"),
        ("<script>var a='<p>no</p>'</script><style>p{}</style>yes", "yes"),
        ("<div style='display: none'>no<div>no</div></div><p hidden>no</p><i aria-hidden=true>no</i>yes", "yes"),
        ("<svg><svg></svg><text>no</text></svg>yes", "yes"),
        ("<title> A  page </title><body>x", "title: A page\nx"),
        ("</title>x", "x"),
        ("<dl><dt>k<dd>v</dl>", "k\n: v"),
        ("<blockquote>said</blockquote><hr>", "> said\n---"),
        ("<input name=q value=x><input type=hidden value=no>", "[text q = x]"),
        ("<input type=submit value=Go><input type=password name=p value=no>", "[button Go] [password p]"),
        ("<input type=checkbox name=ok checked value=1>", "[checkbox ok checked]"),
        ("<button>Send</button>", "[button Send]"),
        (
            "<select name=c><option>a<option selected>b</select><select><option>z</select>",
            "[choice c: ; a; *b] [choice: ; z]",
        ),
        ("<![if IE]>a<![endif]><![CDATA[b]]>", "ab"),
        ("a &amp; b &lt; c&nbsp;d", "a & b < c d"),
        ("", ""),
    ],
)
def test_markup_becomes_what_a_reader_sees(html: str, markdown: str) -> None:
    """Headings, lists, tables, links and forms; no scripts, no styles, nothing hidden."""
    assert to_markdown(html) == markdown


@pytest.mark.parametrize(
    "html",
    ["<" * 5000, "<a" * 5000, "<!--" * 3000, "<table><tr>" * 3000, "</p>" * 5000, "<![" * 999, "<?" * 999, "&#x" * 999],
)
def test_broken_markup_is_taken(html: str) -> None:
    """Without an exception, and soon."""
    assert isinstance(to_markdown(html), str)
