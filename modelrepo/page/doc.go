// Package page has the pages of a repository for people: [NewHandler] serves the namespaces, models
// and versions of a [modelrepo.Store], with creating, changing and deleting them, the upload and
// download of content, documentation, usage, integrity and webhooks.
package page
