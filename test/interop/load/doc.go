// Package load puts servers under load while a test kills them: channels of the annotator
// with messages, jobs of the training collector with clients, and one address for several
// servers. It checks what became of all of it.
package load
