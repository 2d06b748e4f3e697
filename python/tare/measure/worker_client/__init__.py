"""The other end of workers of any language: starts, asks and checks them."""
