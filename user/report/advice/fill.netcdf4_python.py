# No fill values in variables that are written completely; before they are created.
dataset.set_fill_off()
created = dataset.createVariable("pressure", "f8", ("row", "column"), fill_value=False)
