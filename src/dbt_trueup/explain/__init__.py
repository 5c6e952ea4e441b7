"""`trueup explain`: why a row looks as it does.

`facts` asks for the evidence about one key and judges it. `screen` writes it for people.
"""
