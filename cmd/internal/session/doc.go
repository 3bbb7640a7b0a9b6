// Package session keeps the sessions of browsers in a storage, so that several instances of
// a server share them and a restart ends none. It implements access.Sessions.
//
// A session has a secret, which only the cookie of its browser knows. What a session holds,
// such as the tokens of a person, is encrypted with a key derived from that secret: the
// storage and its backups cannot be used to sign in.
package session
