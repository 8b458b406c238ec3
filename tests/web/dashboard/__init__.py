"""The dashboard's list, pages and drawings, from objects that no cluster runs."""
