// Package repositorytest is the suite of flcollect.Repository: what a collector
// relies on, and what the FL repository then shows others over its REST
// interface. package repository runs it over a Store and over a Client.
package repositorytest
