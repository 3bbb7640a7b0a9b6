// Package fleet coordinates the instances of an annotator that share one
// storage.
//
// Each instance keeps one document, its lease, and renews it. Each channel that
// runs has a document too, the channel lease, which names the instance that runs
// it and the session of that instance's lease. An instance whose lease is not
// renewed in time stops its channels before the lease has run out for the others,
// which then take them over.
package fleet
