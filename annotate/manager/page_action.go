package manager

import (
	"context"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

func startNow(m *Manager, ctx context.Context, id string) error {
	_, err := m.Patch(ctx, id, Update{Run: On})
	return err
}

func stopNow(m *Manager, ctx context.Context, id string) error {
	_, err := m.Patch(ctx, id, Update{Run: Off})
	return err
}

// act returns the handler of a form that changes a channel, and leads back to its page.
func (p *pages) act(do func(m *Manager, ctx context.Context, id string) error, done string) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := r.PathValue("id")
		if err := do(p.manager, r.Context(), id); err != nil {
			return channelError(err, id)
		}
		return shell.SeeOther(w, "../"+url.PathEscape(id), "The channel is "+done+".")
	}
}

func (p *pages) remove(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.manager.Delete(r.Context(), id); err != nil {
		return channelError(err, id)
	}
	return shell.SeeOther(w, "../../", "The channel "+id+" is removed, and so is its subscription.")
}
