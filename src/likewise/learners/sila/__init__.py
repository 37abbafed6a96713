"""SiLA: similarity learning by a voted perceptron (Qamar, Gaussier, Chevallet and Lim, 2008)."""
