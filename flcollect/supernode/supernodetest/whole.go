package supernodetest

import (
	"context"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/flcollect/record"
)

// AskWhole requests the next message as Flower 1.15 to 1.18 do, with its content; nil means
// that there is none.
func (c *Client) AskWhole(ctx context.Context) (*record.Message, error) {
	return c.askWhole(ctx, "PullMessages", func(b flower.Blob) (record.Message, error) {
		return record.DecodeMessage(b, record.Maps, record.Limits{})
	})
}

// AskTask requests the next message as Flower 1.13 and 1.14 do; nil means that there is none.
func (c *Client) AskTask(ctx context.Context) (*record.Message, error) {
	return c.askWhole(ctx, "PullTaskIns", func(b flower.Blob) (record.Message, error) {
		return record.DecodeTask(b, record.Limits{})
	})
}

func (c *Client) askWhole(ctx context.Context, method string, decode func(flower.Blob) (record.Message, error)) (*record.Message, error) {
	got, err := c.Call(ctx, method, c.request().Chunks())
	if err != nil {
		return nil, err
	}
	var message *record.Message
	err = each(got, 2, func(v wire.Value) error {
		m, err := decode(v.Chunks)
		message = &m
		return err
	})
	return message, err
}

// AnswerWhole sends an answer as Flower 1.15 to 1.18 do.
func (c *Client) AnswerWhole(ctx context.Context, answer record.Message) error {
	encoded, err := record.EncodeMessage(answer, record.Maps)
	return c.answerWhole(ctx, "PushMessages", encoded, err)
}

// AnswerTask sends an answer as Flower 1.13 and 1.14 do.
func (c *Client) AnswerTask(ctx context.Context, answer record.Message) error {
	encoded, err := record.EncodeTask(answer)
	return c.answerWhole(ctx, "PushTaskRes", encoded, err)
}

func (c *Client) answerWhole(ctx context.Context, method string, encoded flower.Blob, err error) error {
	if err != nil {
		return err
	}
	w := c.request()
	w.Bytes(2, encoded)
	_, err = c.Call(ctx, method, w.Chunks())
	return err
}
