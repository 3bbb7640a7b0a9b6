// Package repository is the FL repository: it stores models, strategies, data
// transformations and the results of trainings.
//
// A [Store] keeps them in package storage, and [NewHandler] serves it with the
// REST interface of the FL Repository of ASSIST-IoT. A [Client] speaks that
// interface, with a Store in another process or with the original. Both are a
// flcollect.Repository, so a collector works with either.
//
// # Names
//
// Records are identified by names: a model by name and version, a result by
// these and the id of the training. A name is 1 to [MaxName] bytes of any UTF-8,
// slashes included, but not a slash alone; in paths it is percent-encoded.
//
// # Values
//
// Bodies are read as the original reads them: a number or a truth value in place of
// text becomes the text that Python writes for it, so all values of a result are stored
// as text. Unknown fields are left out.
// Identifiers of files (model_id, weights_id and so on) are given by the
// repository and not taken from bodies.
//
// # Keys
//
// Documents have the keys model/NAME/VERSION, result/NAME/VERSION/TRAINING,
// strategy/NAME, collector/NAME/VERSION, transformation/ID and file/FILE, blobs
// file/FILE/PART. Names in keys are percent-encoded, long ones hashed. The bytes of a
// file are committed first, then described by a document, and then named by the record:
// a file is visible as a whole or not at all. [Store.Collect] removes what a crash leaves
// behind.
//
// # Strategies
//
// A strategy that a collector is to use has the name of a built-in one as
// "class" among its meta, and defaults of parameters beside it. A strategy
// without a class is its file, of which the [Loader] that was configured makes
// a strategy: packages flcollect/strategy/wasm and flcollect/strategy/pickle read
// WebAssembly modules and pickled strategies of Flower. Without a Loader
// such files are kept and served, and not used.
package repository
