"""Pages of the documentation that are made from svod itself when the site is built."""
