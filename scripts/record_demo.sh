#!/usr/bin/env bash
# Records the bundled session anew: scripts/record_demo.sh KGEN
#
# The first call sets the old session aside and writes the first prompts into generated_kernels/demo.
# Write each reply beside its request (<op>_attempt_N.call_1.reply.md) and call the script again, until
# it says that all ops are done. Then rebuild kgen: the session is part of the binary.
set -euo pipefail
cd "$(dirname "$0")/.."
kgen=$(realpath "$1")
demo=generated_kernels/demo
if grep -qs '"status": "\(running\|awaiting_replies\)"' "$demo/run.json"; then
  exec "$kgen" resume "$demo"
fi
old=$(mktemp -d)
mv "$demo" "$old/"
echo "the old session is in $old/demo" >&2
exec "$kgen" generate --provider mailbox --device emu --run-id demo --output-dir generated_kernels
