// Package integrity compares stored content with its digest: before an upload shares it,
// while it is downloaded, and all of it from time to time. It remembers what is damaged, and
// replaces the bytes of a damaged blob when an upload brings them again.
package integrity
