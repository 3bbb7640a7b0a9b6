// Package pickle reads strategies of Flower, and lists of NumPy arrays, that Python
// has pickled. It never runs code of a pickle.
//
// A pickle is a program: it can call any function of Python by its name. This package
// interprets a few names. Any other name stays a name, and so does the result of
// calling it; a strategy that has one in a relevant place is refused. The results are
// lists, maps, numbers and texts; no name stands for a function of this program. A
// strategy is identified by its class and its attributes. Package strategy makes the
// built-in strategy of the same name with the same parameters.
//
// # What is read
//
// [Read] takes the classes of flwr.server.strategy (from Flower 1.0 on) and of
// flwr.serverapp.strategy that package strategy has too, in every protocol of pickle from 0 to 5,
// with or without initial parameters. The state that a strategy carries from round to round is left
// out, because the training starts again. An attribute that would have another effect than the
// built-in strategy has (a function that configures clients, another weight than the number of
// examples) is refused by its name. Functions that aggregate metrics are ignored, because the
// server aggregates metrics itself. The FedAdam of later versions of Flower corrects its moments
// for their start at zero; the built-in one is that of Flower 1.3.0, whatever version pickled it.
//
// [Arrays] takes a list of arrays, such as a training leaves: what tensor.WritePickle
// writes.
//
// # Bounds
//
// A pickle has at most [MaxInstructions]; the values take at most eight times the
// size of the pickle, and some hundred bytes for each instruction. Arrays with
// row-major, little-endian elements refer to the bytes of the pickle.
package pickle
