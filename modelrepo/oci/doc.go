// Package oci writes and reads OCI image layouts (image-spec 1.1,
// image-layout.md): the form in which tools such as oras and skopeo keep on
// disk what a registry carries. A layout is a folder, or a tar archive of one:
//
//	oci-layout            the version of the layout
//	index.json            which manifests there are, and under which names
//	blobs/sha256/<hex>    manifests, and all that they refer to
//
// A [Writer] writes one from its beginning to its end, with the index known
// before the first blob. [ReadTar] and [ReadDir] hand over what is in one, file
// by file. Nothing but JSON documents of bounded size is ever held in memory,
// every blob is compared with its digest on both ways, and no name in an
// archive becomes the name of a file.
//
// The package knows about artifacts what every registry knows. What is in them
// is up to its users.
package oci
