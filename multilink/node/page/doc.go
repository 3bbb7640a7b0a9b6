// Package page is the pages of an instance of a multi-link network for people: [NewHandler]
// serves them for a [node.Node], with the REST interface below api/.
package page
