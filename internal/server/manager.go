package server

import (
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// The states of a process for a service manager; see sd_notify(3).
const (
	stateReady    = daemon.SdNotifyReady
	stateStopping = daemon.SdNotifyStopping
	stateAlive    = daemon.SdNotifyWatchdog
)

// manager is the service manager, systemd or one with its protocol: the socket of
// NOTIFY_SOCKET. Without that nothing is sent.
type manager struct {
	log      *slog.Logger
	interval time.Duration // between signs of life; 0 means that none is wanted
	warn     sync.Once
}

func newManager(log *slog.Logger) *manager {
	m := &manager{log: log}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the watchdog of the service manager gets no sign of life", "error", err)
	}
	m.interval = limit / 2
	return m
}

// say sends lines. The log has the first failure.
func (m *manager) say(lines ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
		m.warn.Do(func() { m.log.Warn("the service manager cannot be notified (NOTIFY_SOCKET)", "error", err) })
	}
}

// extension asks for at least so much time from now on.
func extension(atLeast time.Duration) string {
	return "EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(atLeast.Microseconds(), 10)
}

// reloading says that files are read again.
func (m *manager) reloading() {
	m.say(daemon.SdNotifyReloading, strings.TrimSuffix(daemon.SdNotifyMonotonicUsec(), "\n"), "STATUS=reloading")
}

// beats returns a channel that ticks as often as signs of life are wanted, and what ends it.
// The channel is nil if none is.
func (m *manager) beats() (<-chan time.Time, func()) {
	if m.interval <= 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(m.interval)
	return ticker.C, ticker.Stop
}
