package door

// Where a machine has no certificate authorities, as in our images and on some routers,
// those of Mozilla are used, in the Go project's copy. Files of the system and SSL_CERT_FILE
// take precedence.
import _ "golang.org/x/crypto/x509roots/fallback"
