"""What tests read from an open report."""

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def lit(page, selector, name="is-selected"):
    """Return the first and last leaf of the elements that carry a class."""
    found = page.locator(f"{selector}.{name}")
    return {
        (int(each.get_attribute("data-first")), int(each.get_attribute("data-last")))
        for each in found.all()
    }


def leaf_line(page, leaf):
    return page.locator(f'#tree-list a.leaf-line[href="#leaf-{leaf}"]')


def used_features(page, names):
    shown = page.locator("#try-form .field label").all_inner_texts()
    return [names.index(name) for name in shown]
