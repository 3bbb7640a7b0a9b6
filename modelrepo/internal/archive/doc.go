// Package archive maps model versions to the artifacts of an OCI image layout and
// back: one manifest for each version, with a layer for each format.
//
// A [Layout] is written by an export. An [Importer] reads a layout, whose files may
// come in any order, and hands each version to a [Target] when all of its content is
// stored.
package archive
