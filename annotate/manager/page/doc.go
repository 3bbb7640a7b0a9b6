// Package page is the pages of the channels of a service for people: [NewHandler] serves them
// for a [manager.Manager], with the REST interface below api/.
package page
