package rest

import (
	"time"
)

// patience is how long a client may take for its next bytes.
const patience = 2 * time.Minute
