package wg

import (
	"context"
	"fmt"
	"log/slog"

	"golang.zx2c4.com/wireguard/device"
)

// outdatedCall is the format of wireguard-go's message on a call that it drops because of
// its timestamp.
const outdatedCall = "%v - ConsumeMessageInitiation: handshake replay @ %v"

// logger hands wireguard-go's messages on, all of them at debug: what it calls
// an error, such as a datagram that a dead radio refused, is a link's everyday
// life. It names peers by a few letters of their public keys, and prints no key.
//
// outdated is called with the peer of an authentic call whose timestamp is not after
// that of an earlier one: WireGuard drops it, and reports that in its log alone.
func logger(to *slog.Logger, link string, outdated func(*device.Peer)) *device.Logger {
	say := func(format string, args ...any) {
		if format == outdatedCall && len(args) > 0 {
			if peer, ok := args[0].(*device.Peer); ok {
				outdated(peer)
			}
		}
		if to != nil && to.Enabled(context.Background(), slog.LevelDebug) {
			to.Debug("wireguard: "+fmt.Sprintf(format, args...), "link", link)
		}
	}
	return &device.Logger{Verbosef: say, Errorf: say}
}
