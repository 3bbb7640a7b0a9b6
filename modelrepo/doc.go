// Package modelrepo is a repository of models: namespaces hold models, models hold
// versions, and a version holds content under format tags.
//
// A [Store] is the repository over the two contracts of package storage. Every method
// works at once; [Store.Run] removes the traces of crashed operations and content that
// nothing refers to, and calls webhooks. Package rest serves a Store over HTTP, and
// package client has the methods of a Store over that interface.
//
// # Documents
//
// Each namespace, model and version is one document, a node. Nodes do not contain
// their children: the key of a child begins with its parent's path.
//
//	root                      how often the set of namespaces has changed
//	namespace/w3c             one namespace: metadata
//	model/w3c/sosa            one model: latestVersion, aliases, metadata
//	version/w3c/sosa/1.0      one version: defaultFormat, formats, uploads,
//	                          immutable, metadata
//	content/<sha256>          the blob that has the bytes of the digest
//	upload/<id>               a resumable upload: its state and pieces
//	condemned/<id>            blob/<id> will be deleted and must not be shared
//	damaged/<id>              blob/<id> does not have the bytes of its digest
//	scrub                     how far the comparison of all content has come
//	webhooks                  all webhooks
//	intent/<event>            an operation with an event is in progress
//	event/<webhook>/<event>   an event that is to be delivered
//	lease/<webhook>           the process that delivers, and the next attempt
//
// A parent counts the changes among its children and names the last of them, so that
// several processes over one storage can keep sorted lists of names in memory.
//
// # How children are created and deleted
//
// Only single documents are atomic, so creation and deletion take three steps. Creation
// writes the child as pending, which is not visible; records the change in the parent,
// whose revision moves; and removes the mark. Deletion marks the child as leaving, which
// is still visible; records the change in the parent; and deletes the child at the
// marked revision. A parent is deleted at the revision at which it had no children. So
// a child that is added meanwhile moves the parent's revision, and the deletion starts
// again; and a child whose parent is deleted never becomes visible. A mark that a crash
// leaves has no visible effect; [Store.Repair] removes it.
//
// # Metadata, lists and aliases
//
// The nodes of namespaces, models and versions hold their [Metadata]. A list with a
// [Listing] is a page, sorted by name or another field and selected by filters. A page
// by name, in either direction, reads the documents of the page. A page with filters,
// or sorted by another field, reads all children one after the other; at most four such
// scans run at one time.
//
// An alias is a further name of a version of a model. Like [Latest], it is for reading
// only, and no version has the same tag: adding the alias and creating the version
// exclude each other, because both move the model's revision.
//
// # Immutable versions and quotas
//
// A version that was made immutable refuses every change of itself and its content,
// also by uploads that had begun before. It can only be deleted, as a whole, by
// [Store.DeleteImmutable].
//
// [Limits] bound what a repository accepts. They are checked when something is added,
// in the same compare-and-set that adds it, or against a tally in memory that is never
// less than what this process has stored.
//
// # Content
//
// An upload first enters a ticket in the version, with the key of the blob that it is
// going to write. Then the bytes stream into that blob. Once they are durable, the
// document of their digest is created or written again, and one compare-and-set replaces
// the ticket by the entry of the format. A reader sees the old content or the new one.
//
// Collection first reads the documents of the digests, then all versions, and then
// deletes the digests' documents that neither an entry nor a ticket refers to, at the
// revision that was read. An upload in between has moved that revision. Blobs that no
// digest names are condemned in one round and deleted in the next, if nothing refers to
// them then; a condemned blob is not shared. An upload whose ticket was removed, because
// it was not renewed in time, is refused at its end. So safety does not depend on
// clocks, and collection, uploads and further processes may run at the same time.
//
// # Damaged content
//
// Disks and buckets lose bytes. Content that is read whole is compared with its digest, and
// the reader gets an error in place of its end if it is damaged. A part of content is not
// compared. [Store.Run] also compares everything, slowly, as [ScrubConfig] says, and
// [Store.Scrub] requests that at once; [Store.Integrity] names what is damaged. Damaged content
// is never shared: an upload of the same bytes to any version compares what is there before it
// shares it, and replaces the bytes of a damaged blob, so that all versions with this content are
// whole again.
//
// # Resumable uploads
//
// [Store.Uploads] receive content in pieces that survive broken connections and
// restarts; package rest speaks the protocol tus 1.0.0 for them. With the last piece all
// pieces are uploaded in one stream, like other content. The version keeps the
// identifiers of the uploads that were published last, written in the same
// compare-and-set, so that a crash between publishing and recording it in the upload
// does not publish twice: the last piece is sent again, and confirmed. The bytes are
// written twice for that.
//
// # Documentation
//
// [Store.GenerateDocumentation] renders Markdown into pages, synchronously, one set at a
// time in a process. While the pages are written, to page/<version>/<id>/..., a ticket in
// the version protects them as it protects content; one compare-and-set then replaces
// the ticket by the identifier. [Store.Repair] deletes pages of no version. The Markdown
// is not trusted: HTML in it is left out, the output of goldmark is sanitised by
// bluemonday, and the policy of the pages allows no script and nothing from other
// origins. Some texts take quadratic time to render, and rendering cannot be stopped, so
// texts that would take too long by an estimate are refused.
package modelrepo
