package definition

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
	"github.com/iotenablers/enablers/apimgmt/position"
)

// plugin is a plugin of a definition that is not attached to an entity yet.
type plugin struct {
	entity entity.Plugin
}

// extended is what the extensions of one level say of itself.
type extended struct {
	name    string
	plugins []*plugin // by name
}

// extensions reads those of Kong, and puts the defaults into the level.
func (c *converter) extensions(at *level, n *document.Node) (extended, error) {
	var own extended
	for _, member := range n.Members {
		key := member.Key
		if !strings.HasPrefix(key, extensionPrefix) {
			continue
		}
		var err error
		switch name, isPlugin := strings.CutPrefix(key, pluginPrefix); {
		case isPlugin:
			var made *plugin
			if made, err = c.plugin(name, member.Value); err == nil {
				own.plugins = append(own.plugins, made)
			}
		case key == nameExtension:
			var ok bool
			if own.name, ok = member.Value.Str(); !ok || slug(own.name) == "" {
				err = member.Value.Errorf("a string with a letter or a digit is needed")
			}
		case key == serviceExtension:
			at.serviceDefaults, err = c.object(member.Value)
		case key == upstreamExtension:
			at.upstreamDefaults, err = c.object(member.Value)
		case key == routeExtension:
			at.routeDefaults, err = c.object(member.Value)
		case key == tagsExtension && n == c.root, strings.HasPrefix(key, securityPrefix):
		default:
			err = member.Value.Errorf("there is no such extension of Kong here")
		}
		if err != nil {
			return extended{}, err
		}
	}
	var err error
	if own.plugins, err = c.validating(at, own.plugins); err != nil {
		return extended{}, err
	}
	slices.SortFunc(own.plugins, func(a, b *plugin) int { return strings.Compare(a.entity.Name, b.entity.Name) })
	return own, nil
}

// object is an object, or what a reference to one leads to.
func (c *converter) object(n *document.Node) (*document.Node, error) {
	made, err := resolve(c.root, n)
	if err != nil {
		return nil, err
	}
	if made.Kind != document.Object {
		return nil, n.Errorf("an object is needed, this is %s", made.Kind)
	}
	return made, nil
}

func (c *converter) plugin(name string, n *document.Node) (*plugin, error) {
	if !slices.Contains(c.options.Plugins, name) {
		return nil, n.Errorf("the gateway has no plugin %q", shown(name))
	}
	object, err := c.object(n)
	if err != nil {
		return nil, err
	}
	var made entity.Plugin
	if err := c.decode(object, &made, "id", "service", "route", "consumer"); err != nil {
		return nil, err
	}
	if made.Name != "" && made.Name != name {
		return nil, object.Get("name").Errorf("the plugin is named %q here and %q in the key", shown(made.Name), shown(name))
	}
	made.Name = name
	if made.Config == nil {
		made.Config = json.RawMessage("{}")
	}
	for _, tag := range c.tags {
		if !slices.Contains(made.Tags, tag) {
			made.Tags = append(made.Tags, tag)
		}
	}
	c.places[string(entity.KindPlugin)+name] = n
	return &plugin{entity: made}, nil
}

// merged is a list of plugins, by name, in which those of the second replace those
// of the first, except that one which is disabled does not take back one that is
// enabled: Kong skips it. Neither list is changed.
func merged(far, near []*plugin) []*plugin {
	made := slices.Clone(near)
	for _, p := range far {
		i := slices.IndexFunc(made, func(q *plugin) bool { return q.entity.Name == p.entity.Name })
		switch {
		case i < 0:
			made = append(made, p)
		case made[i].disabled() && !p.disabled():
			made[i] = p
		}
	}
	slices.SortFunc(made, func(a, b *plugin) int { return strings.Compare(a.entity.Name, b.entity.Name) })
	return made
}

func (p *plugin) disabled() bool { return p.entity.Enabled != nil && !*p.entity.Enabled }

// decode reads the fields of an entity, some of which are not for the definition
// to say. A nil node has none.
func (c *converter) decode(n *document.Node, into any, reserved ...string) error {
	if n == nil {
		return nil
	}
	if n.Kind != document.Object {
		return n.Errorf("an object is needed, this is %s", n.Kind)
	}
	fields := &document.Node{Kind: document.Object}
	for _, member := range n.Members {
		if slices.Contains(reserved, member.Key) {
			if member.Key == "targets" { // which the caller reads
				continue
			}
			return member.Value.Errorf("the field cannot be set by a definition")
		}
		fields.Members = append(fields.Members, member)
	}
	err := entity.Decode(fields.AppendJSON(nil), into)
	var wrong *position.Error
	if errors.As(err, &wrong) {
		if at, ok := n.Resolve(wrong.Pointer); ok {
			return at.Errorf("%w", wrong.Err)
		}
	}
	if err != nil {
		return n.Errorf("%w", err)
	}
	return nil
}

// slug is a text as a part of names: letters and digits in lower case, "-" for
// everything between them.
func slug(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(unicode.ToLower(r))
		const most = 80
		if b.Len() >= most {
			break
		}
	}
	return strings.Trim(b.String(), ".")
}

// joined joins two parts of a name; the second may be empty.
func joined(first, second string) string {
	if second == "" {
		return first
	}
	return first + "_" + second
}
