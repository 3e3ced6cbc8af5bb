"""Whatever arrives ends in a value or in an error of the product's own: tried with a million made-up inputs."""
