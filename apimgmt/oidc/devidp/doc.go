// Package devidp is an identity provider for development and demonstrations: it
// has the addresses, the tokens and the errors of one realm of Keycloak, in one
// process and without set-up, so that what was built on it works with a Keycloak
// by another address.
//
// It is not for production. It has no administration, no second factor, no
// mail, no federation. It says so in its log and on its pages.
//
// A [Provider] is opened over a storage.Documents with the [Realm] that it
// serves, such as [Demo]. [Provider.Handler] serves below the path of
// [Config.BaseURL], for Keycloak's traditional /auth:
//
//	/auth/realms/{realm}/.well-known/openid-configuration
//	/auth/realms/{realm}/protocol/openid-connect/auth              login page
//	/auth/realms/{realm}/protocol/openid-connect/token             password, refresh_token, client_credentials, authorization_code
//	/auth/realms/{realm}/protocol/openid-connect/token/introspect  RFC 7662
//	/auth/realms/{realm}/protocol/openid-connect/certs             keys
//	/auth/realms/{realm}/protocol/openid-connect/userinfo
//	/auth/realms/{realm}/protocol/openid-connect/logout
//
// # Documents
//
//	signing          keys of the signatures, and the secret of refresh tokens
//	client/<id>      the secret of a confidential client
//	user/<name>      the subject and the password's hash of a user
//	session/<id>     one login: its user, when it ends, its refresh tokens
//	code/<digest>    the code of a login that is under way, for a minute
//	attempts/<name>  wrong passwords for a user in a row
//
// Secrets lie there in the clear, except for passwords (argon2id), so anyone that
// can read the store can sign tokens: package storage/disk gives its folder to
// its owner alone.
//
// # Several instances
//
// Any number of processes may serve one realm over the same documents, behind one address: a
// login that was begun at one is ended at any other, a token of one is good at all, and a wrong
// password counts at all. Their clocks are to agree within seconds: codes, sessions and locks
// end by the time that is stored.
//
// # Bounds
//
// Sessions, codes and counters of attempts are bounded in number; the oldest
// are removed. After several wrong passwords a user, and an address, has to wait,
// for longer each time. Hashing a password takes 19 MiB and happens twice at a
// time at most. A name that does not exist takes as long as one that does, and
// gets the same answer.
package devidp
