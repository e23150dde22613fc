--  Tasks aside, what every program has: text, images of numbers, checks, exceptions of the program's own.
with Ada.Text_IO; use Ada.Text_IO;

procedure Greet is
   Odd : exception;
   type Table is array (1 .. 3) of Integer;
   Squares : Table := (others => 0);

   procedure Fill (Up_To : Integer) is
   begin
      for I in 1 .. Up_To loop
         Squares (I) := I * I;
      end loop;
      if Up_To mod 2 = 1 then
         raise Odd;
      end if;
   end Fill;

   procedure Try (Up_To : Integer) is
   begin
      Fill (Up_To);
      Put_Line ("filled" & Up_To'Image & Squares (Up_To)'Image);
   exception
      when Odd => Put_Line ("odd" & Up_To'Image);
      when Constraint_Error => Put_Line ("too many" & Up_To'Image);
   end Try;
begin
   for I in 1 .. 4 loop
      Try (I);
   end loop;
   Put_Line (Integer'Value (" 12 ")'Image);
end Greet;
