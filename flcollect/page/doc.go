// Package page has the pages of a training collector for people: its jobs with their rounds and
// clients, and the forms that make, stop and compare jobs. [NewHandler] serves them with the REST
// interface of package rest.
package page
