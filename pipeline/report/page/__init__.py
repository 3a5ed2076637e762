def write_page(path, store, plan, detected, settings, now):
    path.write_text("placeholder, being written")
    return path
