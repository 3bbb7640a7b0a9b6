// Package node creates an instance of a multi-link network of a
// [multilink.Plane]: a server that provisions clients, or a client that attaches
// to one. It stores its configuration, which is changed through its REST interface
// (multilink/node/rest) or its pages (multilink/node/page).
//
// # Changes
//
// [Node.Change] applies all changes. A change is checked against everything that is configured, applied to the
// plane, stored, and only then answered. What cannot be stored is taken back from
// the plane. A process that was killed comes up with the configuration that was
// acknowledged last; one that was being acknowledged may hold or not, wholly.
//
// # Secrets
//
// The private key of the instance is created at its first start and never leaves it.
// A server generates the keys of a client on request, shows them once and keeps
// the public one; better is a client that has its own. A preshared key for each link
// and client is derived from a secret of the client's record. Secrets are in the
// documents and in the one answer that hands them out, never in a log, an event, a
// metric or a GET.
package node
