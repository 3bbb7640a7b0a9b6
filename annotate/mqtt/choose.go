package mqtt

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// errOldBroker is a broker that says by its answer that it does not speak
// MQTT 5.
var errOldBroker = errors.New("the broker answered that it does not speak MQTT 5")

// attempts are the ways to open the first connection of a subscription or a
// publisher.
type attempts[T any] struct {
	five func() (T, error)
	old  func() (T, error)
}

// choose opens the first connection with the version that the settings name, or
// with the newest that the broker speaks. What it returns keeps to that
// version.
//
// A broker of MQTT 3.1.1 answers a CONNECT of MQTT 5 with return code 1 (MQTT
// 3.1.1 section 3.1.2.2) or just closes the connection. The latter is also how
// a broker looks that is going down, so it has to do so twice.
func choose[T any](ctx context.Context, version string, by attempts[T]) (T, error) {
	if version == Version311 {
		return by.old()
	}
	made, err := by.five()
	if session.HungUp(err) && ctx.Err() == nil {
		made, err = by.five()
	}
	var none T
	refused := errors.Is(err, errOldBroker)
	switch {
	case err == nil:
		return made, nil
	case (!refused && !session.HungUp(err)) || ctx.Err() != nil:
		return none, err
	case version != "":
		return none, fmt.Errorf("%w; mqttSettings.version demands MQTT %s, leave it out or set %q",
			err, version, Version311)
	}
	made, olderr := by.old()
	switch {
	case olderr == nil:
		return made, nil
	case refused:
		return none, olderr
	}
	return none, fmt.Errorf("%w; and with MQTT 3.1.1: %w", err, olderr)
}
