// Package definition turns OpenAPI files that users publish into what a gateway
// serves.
//
// [Load] reads and checks a file of OpenAPI 3.0 or 3.1, JSON or YAML: a
// [Definition] is valid, refers to nothing outside of itself, and has operations to
// route to. [Convert] converts it to an [entity.Config], as Kong's openapi2kong does,
// with the extensions x-kong-…. [Definition.Redacted] is what may be shown to
// users.
//
// The files are not trusted. Their size, depth and number of values are
// bounded, aliases of YAML included; nothing is fetched; and every error names the
// place in the file.
package definition
