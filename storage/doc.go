// Package storage holds the two contracts that the building blocks persist through, and an implementation
// of both in memory. A program keeps its data in a folder, a database or a bucket, on one machine or shared
// by several, and decides that where it starts.
//
//	ctx := context.Background()
//	documents, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs() // or those of packages disk, mongo and s3
//	first, err := documents.Create(ctx, "job/7", []byte(`{"round":1}`))
//	if err != nil {
//		log.Fatal(err)
//	}
//	_, err = documents.Update(ctx, "job/7", first, []byte(`{"round":2}`))
//	_, late := documents.Update(ctx, "job/7", first, []byte(`{"round":3}`)) // the document is at another revision
//	fmt.Println(err, errors.Is(late, storage.ErrConflict))
//
//	model, err := blobs.Create(ctx, "model/7")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer model.Abort()
//	fmt.Fprint(model, "any number of bytes")
//	info, err := model.Commit(ctx) // visible from here on
//	fmt.Println(info.Key, info.Size, err)
//
// [Documents] keeps small JSON documents, each with a revision. [Blobs] keeps byte streams of any size,
// each with its digests. Package disk keeps both in one folder, mongo in MongoDB, and s3 blobs in a bucket.
// [Prefixed] and [PrefixedBlobs] let several components share one store.
//
// # Keys
//
// A key is a non-empty UTF-8 string without control characters, at most [MaxKeyLength] bytes long;
// [ValidKey] decides. Keys are ordered by their bytes. The slash has no meaning to a driver: "a", "a/" and
// "a/b" are three unrelated keys. By convention it ends the prefix of the keys of one component.
//
// # Revisions
//
// Update and Delete name the [Revision] that they replace and fail with [ErrConflict] when the document has
// another one: read, decide, write, and start again on a conflict. [Change] and [Remove] do that for one
// document, [Retry] for several. A revision is never used twice for one key, so an update prepared before a
// delete cannot hit the document that was created afterwards.
//
// # Durability
//
// A write that returned nil survives the death of the process, and in drivers that keep data on stable
// storage also the loss of power. A write that returned another error than those of this package happened
// completely or not at all; after a lost connection the outcome can be unknown. There are no transactions
// over several keys, and none over a blob and a document. A program that needs both writes the blob first,
// under a key that nothing else uses, and then the document that names it.
//
// # Concurrency and errors
//
// Stores may be used from many goroutines, and shared drivers from many processes. A method that begins
// after a write was acknowledged sees that write. Errors read as a sentence: the verb, the key, the cause. A
// method that is called with a context that has ended does nothing.
//
// # Writing a driver
//
// An engine that has only atomic writes of one record can meet every requirement; docs/storage.md says how
// for revisions, data, order, blobs and deletes. Package storagetest is the suite.
package storage
