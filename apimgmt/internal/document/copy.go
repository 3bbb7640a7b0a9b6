package document

// Edit returns a copy of the tree in which texts of strings are what replace makes
// of them. It gets each string with the keys above it, the nearest last; indices
// are left out. Numbers that replace is asked about become strings if it changes
// them.
func (n *Node) Edit(replace func(keys []string, text string) string) *Node {
	return n.edit(nil, replace)
}

func (n *Node) edit(keys []string, replace func(keys []string, text string) string) *Node {
	made := &Node{Kind: n.Kind, Text: n.Text, Line: n.Line, Column: n.Column}
	switch n.Kind {
	case String:
		made.Text = replace(keys, n.Text)
	case Number:
		if text := replace(keys, n.Text); text != n.Text {
			made.Kind, made.Text = String, text
		}
	case Array:
		for _, item := range n.Items {
			made.Append(item.edit(keys, replace))
		}
	case Object:
		for _, member := range n.Members {
			made.Put(member.Key, member.Value.edit(append(keys, member.Key), replace))
		}
	}
	return made
}
