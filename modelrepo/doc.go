// Package modelrepo is a repository of models, ontologies and other files that programs refer to by
// version. A name and a version have to lead to the same bytes for years, also while several clients
// upload and after a crash: namespaces hold models, models versions, and versions content by format.
//
//	ctx := context.Background()
//	repository, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
//	if err != nil {
//		log.Fatal(err)
//	}
//	sosa := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
//	err = errors.Join(
//		repository.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}),
//		repository.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{LatestVersion: "1.0"}),
//		repository.CreateVersion(ctx, sosa, modelrepo.VersionUpdate{}),
//	)
//	if err != nil {
//		log.Fatal(err)
//	}
//	if _, err := repository.Upload(ctx, sosa, "text/turtle", strings.NewReader("# SOSA\n"), nil); err != nil {
//		log.Fatal(err)
//	}
//	sosa.Version = modelrepo.Latest
//	content, err := repository.Open(ctx, sosa, "text/turtle")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer content.Close()
//	text, err := io.ReadAll(content)
//	fmt.Printf("%s%s %v\n", text, content.MD5, err)
//
// Package rest serves a [Store] over HTTP, client has its methods over that interface, and oci serves
// it to clients of container registries. Every method works at once. [Store.Run] repairs what crashes
// left, collects content that nothing refers to, compares content with its digests, and calls webhooks.
//
//   - [Listing] selects a page of namespaces, models or versions by their [Metadata].
//   - [Latest] and aliases are names of a version for reading; an immutable version refuses every change.
//   - [Limits] bound what is accepted; [Store.Uploads] survive broken connections and restarts.
//   - [Store.GenerateDocumentation] renders Markdown, which is not trusted, into pages.
//   - A reader of damaged content gets an error in place of its end; [Store.Integrity] lists what is
//     damaged, and an upload of the same bytes repairs all versions that have them.
package modelrepo

// How a repository is stored.
//
// Each namespace, model and version is one document, a node. Nodes do not contain their children: the
// key of a child begins with its parent's path.
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
// A parent counts the changes among its children and names the last of them, so that several processes
// over one storage can keep sorted lists of names in memory. A page by name, in either direction, reads
// the documents of the page. A page with filters, or sorted by another field, reads all children one
// after the other; at most four such scans run at one time.
//
// # How children are created and deleted
//
// Only single documents are atomic, so creation and deletion take three steps. Creation writes the child
// as pending, which is not visible; records the change in the parent, whose revision moves; and removes
// the mark. Deletion marks the child as leaving, which is still visible; records the change in the
// parent; and deletes the child at the marked revision. A parent is deleted at the revision at which it
// had no children. So a child that is added meanwhile moves the parent's revision, and the deletion
// starts again; and a child whose parent is deleted never becomes visible. A mark that a crash leaves
// has no visible effect; Store.Repair removes it.
//
// Adding an alias and creating a version of the same tag exclude each other, because both move the
// model's revision. Limits are checked in the compare-and-set that adds something, or against a tally in
// memory that is never less than what this process has stored.
//
// # Content
//
// An upload first enters a ticket in the version, with the key of the blob that it is going to write.
// Then the bytes stream into that blob. Once they are durable, the document of their digest is created or
// written again, and one compare-and-set replaces the ticket by the entry of the format. A reader sees
// the old content or the new one. An upload into a version that became immutable meanwhile is refused.
//
// Collection first reads the documents of the digests, then all versions, and then deletes the digests'
// documents that neither an entry nor a ticket refers to, at the revision that was read. An upload in
// between has moved that revision. Blobs that no digest names are condemned in one round and deleted in
// the next, if nothing refers to them then; a condemned blob is not shared. An upload whose ticket was
// removed, because it was not renewed in time, is refused at its end. So safety does not depend on clocks,
// and collection, uploads and further processes may run at the same time.
//
// Disks and buckets lose bytes. Content that is read whole is compared with its digest; a part is not.
// Store.Run also compares everything, slowly, as ScrubConfig says, and Store.Scrub requests that at once.
// Damaged content is never shared: an upload of the same bytes to any version compares what is there
// before it shares it, and replaces the bytes of a damaged blob.
//
// The last piece of a resumable upload has all pieces uploaded in one stream, like other content, so the
// bytes are written twice. The version keeps the identifiers of the uploads that were published last,
// written in the same compare-and-set, so that a crash between publishing and recording it in the upload
// does not publish twice: the last piece is sent again, and confirmed.
//
// # Documentation
//
// Pages are rendered synchronously, one set at a time in a process. While they are written, to
// page/<version>/<id>/..., a ticket in the version protects them as it protects content; one
// compare-and-set then replaces the ticket by the identifier. Store.Repair deletes pages of no version.
// The output of goldmark is sanitised by bluemonday, and the policy of the pages allows no script and
// nothing from other origins. Some texts take quadratic time to render, and rendering cannot be stopped,
// so texts that would take too long by an estimate are refused.
