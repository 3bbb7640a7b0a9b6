// Package transfer copies content into storage: it reads the next bytes while the
// ones before are hashed and written.
package transfer
