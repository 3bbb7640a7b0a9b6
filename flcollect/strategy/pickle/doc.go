// Package pickle reads strategies of Flower, and lists of NumPy arrays, that Python
// has pickled. Nothing of a pickle is ever run.
//
// A pickle is a program: it names functions of Python and has them called, any
// function whatever. This package knows a few names, each with what is made of it. Any
// other name stays a name, and so does what the pickle would make with it; a strategy
// with such a thing where it would matter is refused. What is made are
// lists, maps, numbers and texts; no name stands for a function of ours. A
// strategy is recognised by its class and its attributes, and the built-in strategy of
// the same name is made with the same parameters, by package strategy.
//
// # What is read
//
// [Read] takes the classes of flwr.server.strategy (from Flower 1.0 on) and of
// flwr.serverapp.strategy that package strategy has too, in every protocol of pickle
// from 0 to 5, with or without initial parameters. What a strategy carried from
// round to round when it was pickled is left out, as the training begins anew. An
// attribute that would have another effect than the built-in strategy has (a
// function that configures clients, another weight than the number of examples) is
// refused by its name. Functions that aggregate metrics are passed over, for whoever
// uses the strategy does that himself. The FedAdam of later versions of Flower corrects its moments for their
// start at zero; the built-in one is that of Flower 1.3.0, whatever version pickled it.
//
// [Arrays] takes a list of arrays, such as a training leaves: what tensor.WritePickle
// writes.
//
// # Bounds
//
// A pickle has at most [MaxInstructions]; what is read takes at most eight times the
// size of the pickle, besides some hundred bytes an instruction. Arrays whose
// elements are row-major with the low byte first refer to the pickle's own bytes.
package pickle
