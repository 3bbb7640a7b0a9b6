// Package admin administers a gateway: a [Store] keeps its configuration, and a
// handler serves Kong's Admin API and a page for people.
package admin
