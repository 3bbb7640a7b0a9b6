// Package oci writes and reads OCI image layouts (image-spec 1.1, image-layout.md): the
// form in which tools such as oras and skopeo store on disk what a registry holds. A
// layout is a folder, or a tar archive of one:
//
//	oci-layout            the version of the layout
//	index.json            the manifests with their names
//	blobs/sha256/<hex>    manifests, and all that they refer to
//
// A [Writer] writes a layout from its beginning to its end; the index is known before
// the first blob. [ReadTar] and [ReadDir] pass the files of a layout to a [Visitor].
// Only JSON documents of bounded size are held in memory, every blob is compared with
// its digest when it is written and read, and no name in an archive becomes the name of
// a file.
//
// The package reads of artifacts what every registry reads. Their content is up to the
// users of the package.
package oci
