// Package modelrepo is a repository of models: namespaces hold models, models
// hold versions, and a version holds content under format tags.
//
// A [Store] is the whole of it over the two contracts of package storage. It
// starts nothing: every method works at once, and [Store.Run] tidies up behind
// crashed operations and removes content that nothing refers to any more.
// [Store.Handler] is its REST interface, and a [Client] has the methods of a
// Store over that interface.
//
// # Documents
//
// Each namespace, model and version is one document, a node. Nodes never
// contain their children: a child's key begins with its parent's path.
//
//	root                           who has how many namespaces changed
//	namespace/w3c                  one namespace: metadata
//	model/w3c/sosa                 one model: latestVersion, aliases, metadata
//	version/w3c/sosa/1.0           one version: defaultFormat, formats, uploads,
//	                               immutable, metadata
//	content/<sha256>               which blob has the bytes of that digest
//	upload/<id>                    an upload in pieces: which parts are there
//	condemned/<id>                 blob/<id> will be deleted and is not shared any more
//	webhooks                       who wants to be told of what
//	intent/<event>                 an operation is under way that somebody wants to be told of
//	event/<webhook>/<event>        somebody has to be told
//	lease/<webhook>                who is telling him, and when the next attempt is due
//
// A parent counts the changes among its children and remembers the names of
// the last few, so that a sorted list of names in memory can be kept up to
// date by several processes that share one store.
//
// # How children come and go
//
// Only single documents are atomic, so a child comes and goes in three steps.
// Creating writes the child marked as pending, which nobody sees; then notes
// the change in the parent, whose revision moves by it; then takes the mark
// away. Deleting marks the child as leaving, which everybody still sees; notes
// the change in the parent; then deletes the child at the marked revision.
// A parent is deleted at the revision at which it was seen without children.
// So a child that was added meanwhile has moved the parent's revision, and the
// deletion begins again; and a child whose parent is gone never becomes
// visible. A mark that a crash left behind changes nothing that anybody sees;
// [Store.Repair] takes it away.
//
// # Metadata, lists and aliases
//
// Namespaces, models and versions carry [Metadata], which are in their nodes. A
// list that is asked for with a [Listing] is a page of it, sorted by the name
// or another field and narrowed by filters. A page by name, in either
// direction, reads what is on it; a page that is filtered or sorted by another
// field reads all children one after the other, at most four such scans at one
// time, and remembers their names and sort values up to that page.
//
// An alias is a name that a model gives to one of its versions. It can be read
// by and not written to, as [Latest], and no version has the same tag: adding
// the one and creating the other exclude each other, because both move the
// model's revision.
//
// # Immutable versions and quotas
//
// A version that was made immutable refuses every change of itself and its
// content from then on, also by uploads that had begun before. It can only be
// deleted, as a whole and by a call of its own, [Store.DeleteImmutable].
//
// [Limits] bound what a repository takes. They are checked when something is
// added, in the same compare-and-set that adds it, or against a tally in memory
// that is never behind what this process stored.
//
// # Content
//
// An upload first enters a ticket in the version, with the key of the blob
// that it is going to write. The bytes then stream into that blob. Once they
// are durable, the document of their digest is created, or, where it exists,
// touched; and one compare-and-set replaces the ticket by the entry of the
// format. Whoever reads sees the old content or the new one, whole.
//
// Collection first reads the digests' documents, then all versions, and then
// deletes the digests that neither an entry nor a ticket refers to, at the
// revision read at first. An upload that came between has moved that revision.
// Blobs that no digest names are condemned in one round and deleted in the
// next, if nothing refers to them then; what is condemned is not shared. An
// upload whose ticket was removed, because it did not renew it in time, is
// refused at its end. So no clock decides about safety, and collection, any
// number of uploads and any number of processes may run at one time.
//
// # Uploads in pieces
//
// [Store.BeginUpload] and [Store.ContinueUpload] take content in pieces, over
// HTTP by the protocol tus 1.0.0 with the extensions creation, expiration,
// checksum and termination. A piece becomes one or more blobs, part/<upload>/<id>,
// of at most 64 MiB; when they are durable a compare-and-set of the upload's
// document moves the offset. Nobody holds a lock: of two pieces for one offset
// the second finds the document moved. With the last piece the parts are
// uploaded, in one stream, as content that comes at once, and only then the
// offset becomes the length. The version remembers which uploads it has
// published, in the same compare-and-set that publishes, so that a crash
// between the two does not publish twice: the last piece comes again, and is
// confirmed. The price is that the bytes are written twice.
//
// The protocol is spoken by a small handler of our own. The handler of tusd
// (v2.10.0 was looked at) has neither checksum nor expiration, answers errors
// in a form of its own instead of the interface's, and its module requires 110
// others, the SDKs of three clouds among them.
//
// # Documentation
//
// [Store.GenerateDocumentation] renders Markdown into pages, at once, one set
// at a time in a process. While they are written, to page/<version>/<id>/..., a
// ticket in the version protects them as it does for content; one
// compare-and-set then replaces the ticket by the identifier. Pages of no
// version are deleted by [Store.Repair]. The Markdown is everybody's, so its
// HTML is left out, what goldmark makes is sanitised by bluemonday, and the
// pages' policy allows no script and nothing from elsewhere. Rendering needs
// quadratic time for some texts and cannot be stopped: what would take too long
// by an estimate is refused before.
package modelrepo
