package jobconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of a configuration.
const (
	// MaxSize is the greatest size of its JSON in bytes.
	MaxSize = 1 << 20

	maxDepth   = 64   // levels of objects and lists within each other
	maxItems   = 1000 // elements of client_conf
	maxMembers = 100  // members of an element, of strategy_conf and of stopping_target
	maxText    = 1024 // characters of a text

	maxRoundTimeout = 365 * 24 * time.Hour
)

// Parse reads the body of POST /job/config/{id} as the specification of the
// training collector has it (section 2). Numbers and truth values may be text, and of a
// key that is there twice the last counts. A key without a meaning is a fault: it may be
// mistyped. Of a setting for clients that has no defined name the value is kept if it is text, a
// number or a truth value: other values cannot be sent to clients.
//
// The error is an *[Error] with all faults. A strategy_conf for a built-in strategy
// is checked as [strategy.New] does, and privacy mechanisms as packages dp, ckks and
// secagg do.
func Parse(body []byte) (Config, error) {
	p := &parser{}
	config := p.config(body)
	if len(p.faults) > 0 {
		return Config{}, &Error{Faults: p.faults}
	}
	return config, nil
}

// parser collects the faults of a body.
type parser struct{ faults []Fault }

func (p *parser) config(body []byte) Config {
	root := value{parser: p}
	if len(body) > MaxSize {
		root.exceeds(TooLong, strconv.Itoa(MaxSize))
		return Config{}
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\uFEFF")))
	if len(body) > 0 {
		if !p.wellFormed(body) {
			return Config{}
		}
		root.raw = body
	}
	members, ok := root.object(math.MaxInt)
	if !ok {
		return Config{}
	}
	c := Config{
		Strategy:     members.at("strategy").name(),
		ModelName:    members.at("model_name").name(),
		ModelVersion: members.at("model_version").name(),
		Rounds:       1,
	}
	for _, key := range []string{"adapt_conf", "adapt_config"} { // both names are in use
		if v := members.at(key); v.given() {
			c.AdaptConfig = v.word()
		}
	}
	if server, ok := members.at("server_conf").object(math.MaxInt); ok {
		if v := server.at("num_rounds"); v.given() {
			c.Rounds = int(v.integer(1, MaxRounds))
		}
		if v := server.at("round_timeout"); v.given() {
			c.RoundTimeout = v.timeout(maxRoundTimeout)
		}
		c.Compression = server.at("compression").compression()
		c.LocalLayers = server.at("local_layers").localLayers()
		c.SpeedTiers = server.at("sampling").sampling()
		if v := server.at("async"); v.given() {
			c.Async = p.async(v)
		}
		server.know("async", "compression", "local_layers", "num_rounds", "records", "round_timeout", "sampling")
	}
	mechanisms, conf := members.at("privacy-mechanisms"), members.at("strategy_conf")
	c.StrategyConf = p.strategyConf(c.Strategy, mechanisms.has(Homomorphic), conf)
	p.bounds(c.StrategyConf, mechanisms, conf)
	c.ClientConf = p.clientConf(members.at("client_conf"))
	p.privacy(&c, mechanisms)
	p.checkSecAgg(c, mechanisms, conf)
	if reason := c.incompressible(); reason != "" {
		root.child("server_conf").child("compression").reject(Invalid, "%s", reason)
	}
	if reason := c.unsampled(); reason != "" {
		root.child("server_conf").child("sampling").reject(Invalid, "%s", reason)
	}
	if reason := c.nonlocal(); reason != "" {
		root.child("server_conf").child("local_layers").reject(Invalid, "%s", reason)
	}
	c.ConfigurationID = members.at("configuration_id").identifier()
	if v := members.at("stopping_flag"); v.raw != nil {
		c.Stopping = v.truth()
	}
	p.targets(&c, members.at("stopping_target"))
	p.app(&c, members)
	for _, fault := range slices.Concat(c.rateFaults(), c.checkAsync()) {
		value{parser: p, path: fault.Path}.report(fault)
	}
	members.know("adapt_conf", "adapt_config", "app", "client_conf", "configuration_id", "model_name", "model_version",
		"privacy-mechanisms", "server_conf", "stopping_flag", "stopping_target", "strategy", "strategy_conf")
	return c
}

// wellFormed checks that the body is JSON, in UTF-8, and not too deep.
func (p *parser) wellFormed(body []byte) bool {
	var whole json.RawMessage
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(body, &whole); {
	case errors.As(err, &syntax):
		at := int(syntax.Offset)
		if at > 0 && at <= len(body) && !strings.HasPrefix(syntax.Error(), "unexpected end") {
			at-- // the character itself, and not the one behind it
		}
		p.malformed(body, at, syntax.Error())
	case err != nil:
		p.malformed(body, 0, err.Error())
	case !utf8.Valid(body):
		p.malformed(body, invalidUTF8(body), "invalid UTF-8")
	case depth(body) > maxDepth:
		p.malformed(body, 0, fmt.Sprintf("objects and lists are more than %d deep", maxDepth))
	default:
		return true
	}
	return false
}

// invalidUTF8 returns where text stops being UTF-8.
func invalidUTF8(text []byte) int {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return at
}

// malformed reports a fault at a byte of the body. The report counts lines, columns and
// characters.
func (p *parser) malformed(body []byte, at int, reason string) {
	before := body[:min(at, len(body))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	char := utf8.RuneCount(before)
	root := value{parser: p}
	root.report(Fault{
		Kind: Malformed, Offset: char,
		Reason: fmt.Sprintf("%s: line %d column %d (char %d)", reason, line, column, char),
	})
}

// depth returns how many objects and lists are within each other in JSON.
func depth(text []byte) int {
	level, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return deepest
}

// clientConf reads the settings for clients.
func (p *parser) clientConf(v value) []map[string]any {
	var items []map[string]any
	for _, item := range v.list(maxItems) {
		members, ok := item.object(maxMembers)
		if !ok {
			continue
		}
		conf := map[string]any{"batch_size": int64(32), "steps_per_epoch": int64(3), "learning_rate": 0.05}
		members.at("epochs").required()
		for _, name := range members.names() {
			switch v := members.at(name); name {
			case "batch_size", "steps_per_epoch", "epochs":
				if v.required() {
					conf[name] = v.integer(math.MinInt64, math.MaxInt64)
				}
			case "learning_rate":
				if v.required() {
					conf[name] = v.number(-math.MaxFloat64, math.MaxFloat64)
				}
			case "config_id":
				if v.given() {
					conf[name] = v.text(0)
				}
			default:
				if kept, ok := v.scalar(); ok {
					conf[name] = kept
				}
			}
		}
		items = append(items, conf)
	}
	return items
}
