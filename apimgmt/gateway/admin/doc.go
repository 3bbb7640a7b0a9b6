// Package admin administers a gateway: a [Store] keeps its configuration in
// storage.Documents, and an [API] serves Kong's Admin API and an administration page
// over it.
//
// # What is kept
//
// The configuration is one text, in pieces under "config/" that never change, and the
// document "config", which names the text in force. A change writes a new text and
// then puts its name into "config" by compare and set: from then on the change is
// acknowledged, and served. So a crash at any time leaves the whole old or the whole
// new configuration, and several processes over one store lose none of each other's
// changes. A change costs the writing of the whole configuration; that is meant for
// up to some thousands of entities.
//
// Secrets of plugins and keys of consumers are kept as they are: protect the storage.
// The password of the page is in the document "administrator", as a hash of argon2id.
//
// # Owners
//
// [Store.Publish] replaces the entities that have an owner's tag. The API and the page
// show them, and may change them as in Kong; the next time the owner publishes, that
// is undone. What others have attached to its entities stays: it is carried over to what
// takes their place, or the publish is refused.
//
// # The API
//
// It has the form of that of Kong 3.4, for services, routes, plugins, consumers and their keys,
// upstreams and targets; go-kong and decK's reconciler are tried with it. Workspaces,
// certificates, SNIs, vaults and consumer groups are not there: their lists are empty.
// The schema of a kind of plugin describes the fields of its configuration; what they need of
// each other only validation says.
//
// Deleting a service that has routes is refused; plugins, keys and targets go with
// what they belong to. Merging the configuration of a plugin with PATCH is that of RFC
// 7396. Health is that of the process that answers.
//
// # Access
//
// With a token ([Config]) every request to the API shows it, and guesses are slowed down.
// Without one the API answers this machine only: a loopback address at both ends, no proxy
// in between, and a Host header field that names this machine, against DNS rebinding.
// Requests that a page of another origin has a browser send are refused in any case.
//
// # The page
//
// The page draws the traffic, and changes services, routes, plugins, consumers with their
// keys, and upstreams with their targets. The form of a plugin is created from the schema of its
// kind. A key is shown once, when it is created. [Store.Run] records what the plots show, for
// everything and for the busiest routes; it ends with the process.
//
// With Config.Authorize the roles of callers decide: "reader" sees the page, "operator" changes
// what it shows, and "admin" creates and revokes keys and changes plugins that have secrets.
// Without it the page has an account of its own, which the first visit creates: with the
// token, or, without one, from this machine. Config.NoAccount has the page answer
// this machine without one. Sessions of the account are in memory,
// end after 30 minutes without use or 12 hours, and belong to one process. Five wrong
// passwords lock an address out for a while, fifty every client.
package admin
