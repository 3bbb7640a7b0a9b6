package wg

import (
	"context"
	"fmt"
	"log/slog"

	"golang.zx2c4.com/wireguard/device"
)

// logger hands wireguard-go's messages on, all of them at debug: what it calls
// an error, such as a datagram that a dead radio refused, is a link's everyday
// life. It names peers by a few letters of their public keys, and prints no key.
func logger(to *slog.Logger, link string) *device.Logger {
	if to == nil {
		return &device.Logger{Verbosef: device.DiscardLogf, Errorf: device.DiscardLogf}
	}
	say := func(format string, args ...any) {
		if to.Enabled(context.Background(), slog.LevelDebug) {
			to.Debug("wireguard: "+fmt.Sprintf(format, args...), "link", link)
		}
	}
	return &device.Logger{Verbosef: say, Errorf: say}
}
