"""Plans: their TOML, data sets, parts, and what can be measured here."""
