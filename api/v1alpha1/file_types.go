package v1alpha1

// The format of a FileContent is not "byte": rules that touch such a string
// decode it as URL-safe base64, which has no "+" and "/", and the API server
// repeats a string that does not fit its format. It does not repeat one that
// breaks a rule with the reason FieldValueForbidden.

// FileContent is the content of a file, base64-encoded; at most 256 KiB when
// decoded. The encoded text may have line breaks.
//
// +kubebuilder:validation:Format=""
// +kubebuilder:validation:MaxLength=368640
// +kubebuilder:validation:XValidation:rule="self.matches('^[+/-9A-Za-z\\r\\n]+[=\\r\\n]*$') && [self.replace('\\r', \"\").replace('\\n', \"\")].all(text, text.size() > 0 && text.size() % 4 == 0 && !text.endsWith('==='))",reason=FieldValueForbidden,messageExpression="self == \"\" ? 'empty; leave the field out, or set it to the file, encoded with `base64 -w0`' : self.matches('^[-_A-Za-z0-9]*[-_][-_A-Za-z0-9]*={0,2}$') ? 'URL-safe base64; encode the file with `base64 -w0`, which writes + and / for - and _' : 'not base64, or base64 with spaces or cut off; encode the file with `base64 -w0`'"
// +kubebuilder:validation:XValidation:rule="[self.replace('\\r', \"\").replace('\\n', \"\")].all(text, text.size() / 4 * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0) <= 262144)",reason=FieldValueForbidden,message="more than 262144 bytes when decoded; shorten it"
type FileContent []byte

// FileText is the content of a file as text; at most 256 KiB in UTF-8.
//
// +kubebuilder:validation:MaxLength=262144
// +kubebuilder:validation:XValidation:rule="self.size() > 0",reason=FieldValueForbidden,message="empty; leave the field out, or set it to the content of the file"
// +kubebuilder:validation:XValidation:rule="size(bytes(self)) <= 262144",reason=FieldValueForbidden,message="more than 262144 bytes; shorten it"
type FileText string
