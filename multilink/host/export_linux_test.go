package host

// BreakWatching ends the subscription to the kernel's messages as an error does.
func (h *Host) BreakWatching() {
	h.watcher.mutex.Lock()
	defer h.watcher.mutex.Unlock()
	h.watcher.socket.Close()
}

// HoldWatching keeps the watcher from reading messages until release is called.
func (h *Host) HoldWatching() (release func()) {
	h.watcher.refreshing.Lock()
	return h.watcher.refreshing.Unlock
}
