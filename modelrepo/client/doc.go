// Package client uses a repository that another process serves: a [Client] has the
// methods of a [modelrepo.Store] over its REST interface.
package client
