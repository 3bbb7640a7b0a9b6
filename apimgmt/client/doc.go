// Package client publishes at a publisher that another process serves: a [Client] has methods
// of an [apimgmt.Publisher] over its REST interface.
package client
